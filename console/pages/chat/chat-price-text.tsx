import type { Agent } from '../../../client/client.ts'
import classes from './new-chat.module.css'

type ChatPriceProps = { pricing: NonNullable<Agent['chat']>['pricing']; hasReasoning: boolean }

/** What a message to an agent costs, in its parts. */
export function ChatPrice({ hasReasoning, pricing }: ChatPriceProps) {
  const { cachedInputPer1kUsd, inputPer1kUsd, outputPer1kUsd, reasoningPer1kUsd, toolCallUsd } = pricing
  return (
    <div className={classes.price}>
      <span>Input ${inputPer1kUsd} / 1K tokens</span>
      {cachedInputPer1kUsd !== inputPer1kUsd && <span>cached ${cachedInputPer1kUsd}</span>}
      <span>Output ${outputPer1kUsd} / 1K tokens</span>
      {hasReasoning && reasoningPer1kUsd !== outputPer1kUsd && <span>reasoning ${reasoningPer1kUsd}</span>}
      {/[1-9]/.test(toolCallUsd) && <span>${toolCallUsd} a tool call</span>}
    </div>
  )
}
