import { defineConfig } from 'errand'
import { greeter } from './agents/greeter.ts'

/** What users may run, and what it costs. */
export default defineConfig({
  agents: [greeter],
})
