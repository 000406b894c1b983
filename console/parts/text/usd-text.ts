const parts = /^(-?)(\d+)((?:\.\d+)?)$/

/**
 * Formats an amount or rate from the API for display, such as `$1,000.00`, `$1.2345`, `−$0.0100` or `$0.15`. Zero and
 * amounts of at least one dollar get only two decimals if that is exact.
 */
export function usdText(usd: string): string {
  return exactUsdText(/^-?(?:[1-9]|0\.0000$)/.test(usd) ? usd.replace(/(\.\d\d)00$/, '$1') : usd)
}

/** Formats an amount for reading at a glance. Amounts of one dollar or more are rounded to cents. */
export function roundedUsdText(usd: string): string {
  const [, minus = '', whole = '', fraction = ''] = parts.exec(usd) ?? []
  if (!/[1-9]/.test(usd)) return usdText('0.0000')
  if (!/[1-9]/.test(whole)) return usdText(minus + whole + fraction.slice(0, 5))
  const cents = BigInt(whole + fraction.slice(1, 3).padEnd(2, '0')) + (Number(fraction[3] ?? 0) >= 5 ? 1n : 0n)
  return exactUsdText(`${minus}${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`)
}

/** Formats an amount from the API with all its decimals, such as `$1,000.0000`, so that amounts in a column align. */
export function exactUsdText(usd: string): string {
  const [, minus, whole, fraction] = parts.exec(usd) ?? []
  if (whole === undefined) return usd
  return `${minus ? '\u2212' : ''}$${BigInt(whole).toLocaleString('en')}${fraction}`
}

/** Reformats amounts such as `0.0100 USD` in the service's messages. */
export function withUsdTexts(text: string): string {
  return text.replaceAll(/(?<![\w.])(\d{1,15}\.\d{4}) USD\b/g, (_, usd: string) => usdText(usd))
}
