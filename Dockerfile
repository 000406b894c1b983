# An image of the service without agents: docker build -t errand .
# Mount the configuration at /config and a volume for the data at /data. See docs/guides/containers.md.
FROM docker.io/library/node:24-slim AS build
WORKDIR /build
COPY .npmrc package.json package-lock.json ./
COPY console/package.json console/
RUN npm ci --no-audit --no-fund
COPY . .
RUN node scripts/build-server.ts && npm pack ./dist/errand --pack-destination /tmp

FROM docker.io/library/node:24-slim AS install
WORKDIR /app
COPY --from=build /tmp/errand-*.tgz /tmp/
RUN npm install --omit=dev --no-audit --no-fund /tmp/errand-*.tgz

FROM docker.io/library/node:24-slim
# jemalloc returns freed memory to the system, whereas glibc keeps much of it.
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=install /app/node_modules ./node_modules
RUN mkdir -p /data /config && chown node:node /data
ENV NODE_ENV=production ERRAND_DATA_DIR=/data ERRAND_CONFIG=/config/errand.config.ts ERRAND_HOST=0.0.0.0 \
    LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=narenas:2,dirty_decay_ms:3000,muzzy_decay_ms:0,background_thread:true
USER node
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ERRAND_PORT ?? 3000}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Runs Node directly, because npm does not forward SIGTERM.
CMD ["node", "--max-semi-space-size=4", "node_modules/errand/server/errand.cjs", "serve"]
