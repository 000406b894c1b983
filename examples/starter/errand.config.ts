import { defineConfig } from 'errand'
import { greeter } from './agents/greeter.ts'

/** The agents that users may run, with their prices. */
export default defineConfig({
  agents: [greeter],
})
