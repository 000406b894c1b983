import { Text, type TextProps } from '@mantine/core'
import { exactUsdText, roundedUsdText, usdText } from './usd-text.ts'

type MoneyProps = Omit<TextProps, 'children'> & {
  /** Amount in the API's format, with four decimals. */
  usd: string
  withPlus?: boolean
  isExact?: boolean
  /** Rounds to cents, and shows the exact amount as the title. */
  isRounded?: boolean
}

export function Money({ usd, withPlus = false, isExact = false, isRounded = false, ...rest }: MoneyProps) {
  const plus = withPlus && !usd.startsWith('-') && /[1-9]/.test(usd) ? '+' : ''
  return (
    <Text
      component="span"
      inherit
      className="tabular"
      style={{ whiteSpace: 'nowrap' }}
      {...(isRounded && { title: exactUsdText(usd) })}
      {...rest}
    >
      {plus}
      {isExact ? exactUsdText(usd) : isRounded ? roundedUsdText(usd) : usdText(usd)}
    </Text>
  )
}

/** An amount and its maximum. Both are rounded in the same way. */
export function MoneyOf({ usd, ofUsd }: { usd: string; ofUsd: string }) {
  return (
    <>
      <Money usd={usd} isRounded /> of <Money usd={ofUsd} isRounded />
    </>
  )
}
