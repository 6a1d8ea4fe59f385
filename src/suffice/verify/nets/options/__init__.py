"""Networks that are maxima over sums of options: bounds and branch and bound in the options of each
word.
"""
