# An image that plays as soon as it starts: the build compiles the kernels and searches a few seconds (az-engine check).
#
#   docker build -t az-engine .                              CPU
#   docker build --build-arg RUNTIME=onnxruntime-gpu[cuda,cudnn] -t az-engine .        NVIDIA; run it with --gpus all
#   docker run --rm -i az-engine                             speaks UCI on stdin and stdout
#   docker run --rm -it -p 8765:8765 az-engine serve --host 0.0.0.0       the page; it prints the address with its token
#   docker run --rm az-engine bench search                   any other command
#
# Kernels are compiled for the CPU that builds the image; on another kind of CPU the first start compiles them again.
# `-v az-engine-cache:/home/az/.cache` keeps those.

FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
ARG RUNTIME=onnxruntime
COPY requirements.txt /tmp/
COPY --from=build /wheels /tmp/wheels
# hadolint ignore=DL3013 # the version of onnxruntime-gpu is open
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/requirements.txt \
    && pip install --no-cache-dir --no-deps /tmp/wheels/*.whl \
    && if [ "${RUNTIME}" != onnxruntime ]; then pip uninstall --yes onnxruntime \
    && pip install --no-cache-dir "${RUNTIME}"; fi \
    && rm -r /tmp/wheels /tmp/requirements.txt \
    && useradd --create-home --uid 10001 az
USER 10001
WORKDIR /home/az
RUN az-engine check
ENTRYPOINT ["az-engine"]
CMD ["uci"]
