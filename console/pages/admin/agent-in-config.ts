import type { System } from '../../../client/client.ts'

type Agent = System['agents'][number]

/**
 * Returns example code that shows where the configuration sets an agent's prices and visibility. Unknown parts are
 * shown as dots.
 */
export function agentInConfig({ chatPricing, endpoints, id, kind, name, visibility }: Agent): string {
  const seenBy = visibility === 'public' ? "'public'" : `[${visibility.map(quote).join(', ')}]`
  const lines = [`kind: '${kind}',`, `id: ${quote(id)},`, `name: ${quote(name)},`, `visibility: ${seenBy},`]
  if (endpoints.length > 0) {
    lines.push('endpoints: {')
    for (const endpoint of endpoints) {
      const own = endpoint.id.slice(endpoint.id.indexOf('.') + 1)
      lines.push(`  ${own}: { priceUsd: '${endpoint.priceUsd}', … },`)
    }
    lines.push('},')
  }
  if (chatPricing) {
    const { inputPerMillionUsd: input, outputPerMillionUsd: output, toolCallUsd } = chatPricing
    const pricing = `{ inputPerMillionUsd: '${input}', outputPerMillionUsd: '${output}', toolCallUsd: '${toolCallUsd}' }`
    // Model agents have one price for tasks and chats.
    lines.push(kind === 'model' ? `pricing: ${pricing},` : `chat: { pricing: ${pricing}, … },`)
  }
  return [
    'export default defineConfig({',
    '  agents: [',
    '    {',
    ...lines.map((line) => `      ${line}`),
    '    },',
    '  ],',
    '})',
  ].join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
