import { defineConfig } from '../server/agents/config/define-config.ts'
import { benchModel, outputTokensMax } from './bench-model.ts'

export default defineConfig({
  agents: [
    {
      kind: 'model',
      id: 'benchmodel',
      name: 'Benchmark model',
      model: benchModel(),
      maxOutputTokens: outputTokensMax,
      pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002' },
    },
  ],
})
