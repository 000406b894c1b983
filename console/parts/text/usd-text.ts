const parts = /^(-?)(\d+)((?:\.\d+)?)$/

/** Formats an API amount or rate for display: `$1,000.0000`, `−$0.0100`, `$0.15`. */
export function usdText(usd: string): string {
  const [, minus, whole, fraction] = parts.exec(usd) ?? []
  if (whole === undefined) return usd
  return `${minus ? '\u2212' : ''}$${BigInt(whole).toLocaleString('en')}${fraction}`
}

/** Reformats amounts such as `0.0100 USD` in the service's messages. */
export function withUsdTexts(text: string): string {
  return text.replaceAll(/(?<![\w.])(\d{1,15}\.\d{4}) USD\b/g, (_, usd: string) => usdText(usd))
}
