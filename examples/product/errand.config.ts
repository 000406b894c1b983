import { defineConfig } from 'errand'
import quickstart from '../quickstart/errand.config.ts'

// The example's webhook is on this machine. A real product has a public URL.
export default defineConfig({ ...quickstart, webhooks: { privateHosts: ['127.0.0.1'] } })
