import { Text, type TextProps } from '@mantine/core'
import { exactUsdText, usdText } from './usd-text.ts'

type MoneyProps = Omit<TextProps, 'children'> & {
  /** Amount in API format, with four decimals. */
  usd: string
  /** Shows a plus sign for positive amounts. */
  withPlus?: boolean
  /** Always shows four decimals, for columns and receipts. */
  isExact?: boolean
}

export function Money({ usd, withPlus = false, isExact = false, ...rest }: MoneyProps) {
  const plus = withPlus && !usd.startsWith('-') && /[1-9]/.test(usd) ? '+' : ''
  return (
    <Text component="span" inherit className="tabular" style={{ whiteSpace: 'nowrap' }} {...rest}>
      {plus}
      {isExact ? exactUsdText(usd) : usdText(usd)}
    </Text>
  )
}
