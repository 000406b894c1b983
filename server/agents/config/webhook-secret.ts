const keyBytesMin = 24
const keyBytesMax = 64

export function parseWebhookSecret(secret: string): Buffer | undefined {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  if (base64 === undefined || base64.length % 4 === 1) return undefined
  const key = Buffer.from(base64, 'base64')
  return key.length >= keyBytesMin && key.length <= keyBytesMax ? key : undefined
}
