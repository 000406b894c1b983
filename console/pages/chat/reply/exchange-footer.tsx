import { Button, Tooltip } from '@mantine/core'
import { useId, useState, type ComponentProps } from 'react'
import type { ChatUsage, Message, Transaction } from '../../../../client/client.ts'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from './exchange-view.module.css'
import { useReplaceText } from '../compose/use-cost-text.ts'
import type { TurnExtras } from '../transcript/live-exchange.ts'

type ExchangeFooterProps = {
  turnId: string
  text: () => string
  isTruncated: boolean
  at: string | undefined
  charge: Transaction | undefined
  extras: TurnExtras | undefined
  /** Only for the last exchange. */
  replace?: { sessionId: string; message: Message; onRegenerate: () => void; onEdit: () => void }
}

export function ExchangeFooter(props: ExchangeFooterProps) {
  const { at, charge, extras, isTruncated, replace, text, turnId } = props
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const costUsd = extras?.costUsd ?? charge?.amountUsd.replace(/^-/, '')
  const tokens = tokensOf(extras?.usage, charge)
  return (
    <>
      <div className={classes.footer}>
        {isTruncated && <StatusBadge status="warning" label="Cut off" />}
        {costUsd !== undefined && <Money usd={costUsd} fw={600} c="var(--mantine-color-text)" />}
        <PageLink size="sm" href={`/billing/receipt?turnId=${encodeURIComponent(turnId)}`}>
          Receipt
        </PageLink>
        {tokens && (
          <FooterButton label="Tokens" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)} />
        )}
        <CopyButton value={text} what="reply" />
        {replace && (
          <>
            <RegenerateButton {...replace} />
            <FooterButton label="Edit message" onClick={replace.onEdit} />
          </>
        )}
        {at !== undefined && <TimeText at={at} />}
      </div>
      {tokens && (
        <dl className={classes.tokens} id={id} hidden={!isOpen}>
          {tokens.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value.toLocaleString('en')}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}

function RegenerateButton({ message, onRegenerate, sessionId }: NonNullable<ExchangeFooterProps['replace']>) {
  const [isQuoted, setQuoted] = useState(false)
  const text = useReplaceText({ sessionId, message, text: message.content }, isQuoted)
  const quote = () => setQuoted(true)
  return (
    <Tooltip label={text} events={{ hover: true, focus: true, touch: false }} multiline maw={300}>
      <FooterButton label="Regenerate" onClick={onRegenerate} onMouseEnter={quote} onFocus={quote} />
    </Tooltip>
  )
}

type FooterButtonProps = Pick<
  ComponentProps<'button'>,
  'aria-controls' | 'aria-expanded' | 'onClick' | 'onFocus' | 'onMouseEnter' | 'ref'
> & { label: string }

function FooterButton({ label, ...rest }: FooterButtonProps) {
  return (
    <Button size="compact-sm" variant="subtle" color="gray" c="dimmed" px={4} fw={400} {...rest}>
      {label}
    </Button>
  )
}

function tokensOf(usage: ChatUsage | undefined, charge: Transaction | undefined): [string, number][] | undefined {
  const used = usage ?? charge?.breakdown
  if (!used) return undefined
  const isEstimated = charge?.breakdown?.isEstimated === true
  const tokens: [string, number][] = [
    [isEstimated ? 'Input (estimated)' : 'Input', used.promptTokens],
    ['of which cached', used.cachedPromptTokens ?? 0],
    ['of which written to the cache', used.cacheWriteTokens ?? 0],
    [isEstimated ? 'Output (estimated)' : 'Output', used.completionTokens],
    ['of which reasoning', used.reasoningTokens],
    ['Tool calls', used.toolCalls],
  ]
  return tokens.filter(([name, value]) => value > 0 || !name.startsWith('of which'))
}
