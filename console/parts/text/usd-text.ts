const parts = /^(-?)(\d+)((?:\.\d+)?)$/

/** An amount or a rate of the API as the console writes money everywhere: `$1,000.0000`, `−$0.0100`, `$0.15`. */
export function usdText(usd: string): string {
  const [, minus, whole, fraction] = parts.exec(usd) ?? []
  if (whole === undefined) return usd
  return `${minus ? '\u2212' : ''}$${BigInt(whole).toLocaleString('en')}${fraction}`
}

/** A text of the service, whose amounts are such as `0.0100 USD`, with the amounts as everywhere in the console. */
export function withUsdTexts(text: string): string {
  return text.replaceAll(/(?<![\w.])(\d{1,15}\.\d{4}) USD\b/g, (_, usd: string) => usdText(usd))
}
