import numpy as np


def predict(texts):
    sour = [sum(word in text.lower() for word in ("late", "broken", "never")) for text in texts]
    return np.array([[0.9, 0.1] if count >= 2 else [0.2, 0.8] for count in sour])


predict.labels = ["complaint", "other"]
