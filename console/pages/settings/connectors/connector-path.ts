export const connectorsPath = '/settings/connectors'

export function connectorPath(connectorId: string): string {
  return `${connectorsPath}?connector=${encodeURIComponent(connectorId)}`
}
