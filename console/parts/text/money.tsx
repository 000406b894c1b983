import { Text, type TextProps } from '@mantine/core'
import { exactUsdText, usdText } from './usd-text.ts'

type MoneyProps = Omit<TextProps, 'children'> & {
  /** Amount in the API's format, with four decimals. */
  usd: string
  withPlus?: boolean
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
