import { defineConfig } from 'errand'
import { openModel } from './agents/model.ts'
import { writer } from './agents/writer.ts'

/** The agents that users may run, with their prices. */
export default defineConfig({
  agents: [writer(await openModel())],
})
