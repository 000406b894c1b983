import { createProduct } from './product-server.ts'

const { ERRAND_PLATFORM_KEY: platformKey, ERRAND_URL: errandUrl = 'http://127.0.0.1:3000', PORT = '4000' } = process.env
if (platformKey === undefined) {
  console.error('ERRAND_PLATFORM_KEY must be a platform key. Create one with errand platform-keys create.')
  process.exit(1)
}
createProduct({ errandUrl, platformKey, agentId: 'assistant' }).listen(Number(PORT), '127.0.0.1', () =>
  console.log(`The product is at http://127.0.0.1:${PORT}`),
)
