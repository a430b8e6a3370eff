# The package and its command in a container: to grade notebooks, to train, to try it.
#   docker build -t attention-book .
#   docker run --rm --network none -v "$PWD:/work" attention-book \
#     course grade handed-in --out scores.csv --way fork
# It runs without a network, as a user who owns nothing but /work. PyTorch's CPU build spares
# gigabytes: --build-arg PIP_EXTRA_INDEX_URL=... with the index that PyTorch's page names.
FROM python:3.11-slim
ARG PIP_EXTRA_INDEX_URL
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt "/src[command]" \
 && rm -rf /src && useradd --create-home reader
USER reader
WORKDIR /work
ENTRYPOINT ["attention-book"]
