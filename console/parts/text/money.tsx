import { Text, type TextProps } from '@mantine/core'
import { usdText } from './usd-text.ts'

type MoneyProps = Omit<TextProps, 'children'> & {
  /** As the API gives it, with four digits. */
  usd: string
  /** Shows a plus before what was added. */
  withPlus?: boolean
}

/** An amount of USD with all four digits. */
export function Money({ usd, withPlus = false, ...rest }: MoneyProps) {
  const plus = withPlus && !usd.startsWith('-') && /[1-9]/.test(usd) ? '+' : ''
  return (
    <Text component="span" inherit className="tabular" style={{ whiteSpace: 'nowrap' }} {...rest}>
      {plus}
      {usdText(usd)}
    </Text>
  )
}
