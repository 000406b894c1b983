/** Formats a USD amount for the reader's locale, with two to four fraction digits. */
export function formatUsd(usd: string, locale?: string): string {
  const options = { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: 4 } as const
  return new Intl.NumberFormat(locale, options).format(Number(usd))
}
