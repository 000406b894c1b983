import { Text, type TextProps } from '@mantine/core'

type MoneyProps = Omit<TextProps, 'children'> & {
  /** As the API gives it, with four digits. */
  usd: string
  /** Shows a plus before what was added. */
  withPlus?: boolean
}

/** An amount of USD with all four digits. */
export function Money({ usd, withPlus = false, ...rest }: MoneyProps) {
  const isNegative = usd.startsWith('-')
  const sign = isNegative ? '\u2212' : withPlus && /[1-9]/.test(usd) ? '+' : ''
  return (
    <Text component="span" inherit className="tabular" style={{ whiteSpace: 'nowrap' }} {...rest}>
      {sign}${isNegative ? usd.slice(1) : usd}
    </Text>
  )
}
