import { badField } from '../kernel/errors.ts'
import { isPrivateHost, namesPrivateAddress } from '../outbound/private-address.ts'

export const webhookUrlCharsMax = 2048

/**
 * Returns the normalized URL. Throws BAD_REQUEST with the field's name. Rejects private addresses in any notation. Host
 * names are checked again when they are resolved for a connection.
 */
export function checkWebhookUrl(text: string, { field, privateHosts }: WebhookUrlRules): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw badField(field, 'Must be an https URL')
  if (url.username !== '' || url.password !== '') throw badField(field, 'Must not contain credentials')
  if (url.hash !== '' || text.includes('#')) throw badField(field, 'Must not have a fragment')
  if (url.href.length > webhookUrlCharsMax) {
    throw badField(field, `Must have at most ${webhookUrlCharsMax.toLocaleString('en-US')} characters`)
  }
  if (isPrivateHost(url, privateHosts)) return url.href
  if (url.protocol !== 'https:') throw badField(field, 'Must be an https URL')
  if (namesPrivateAddress(url) || isLocalName(url)) throw badField(field, 'Must be a public URL')
  return url.href
}

export type WebhookUrlRules = { field: string; privateHosts: readonly string[] }

function isLocalName({ hostname }: URL): boolean {
  return /(?:^|\.)localhost\.?$/.test(hostname)
}
