# The wheel, built from these sources and installed alone; `docker build -t suffice . && docker run --rm suffice explain "a good film"`.
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY src src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist

FROM python:3.11-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/*.whl)[web]" && rm -r /dist && useradd --create-home suffice
USER suffice
ENTRYPOINT ["suffice"]
CMD ["--help"]
