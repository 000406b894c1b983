import { Loader, Text } from '@mantine/core'
import { memo, useState } from 'react'
import type { Message, Transaction } from '../../../../client/client.ts'
import { CopyButton } from '../../../parts/copy-button.tsx'
import type { StoredExchange } from '../transcript/exchanges.ts'
import classes from './exchange-view.module.css'
import { EditMessage } from './edit-message.tsx'
import { ExchangeFooter } from './exchange-footer.tsx'
import type { LiveExchange, TurnExtras } from '../transcript/live-exchange.ts'
import { textOf } from '../transcript/live-reply.ts'
import { filesOf, shownOf } from './file-views.ts'
import { MessageFiles } from './message-files.tsx'
import { ReplyNotice } from './reply-notice.tsx'
import { ReplyParts } from './reply-parts.tsx'
import { UserMessage } from './user-message.tsx'

type ExchangeViewProps = {
  agentName: string
  sessionId: string
  /** Either `stored` or `live` is set. */
  stored?: StoredExchange | undefined
  live?: LiveExchange | undefined
  costSoFar?: string | undefined
  extras?: TurnExtras | undefined
  charge?: Transaction | undefined
  /** Replaces the exchange: sends the message again with this text. Only for the last exchange. */
  onReplace?: ((message: Message, text: string) => void) | undefined
}

/**
 * A message and its reply, stored or in progress. One component shows both, so that nothing jumps when the reply is
 * stored.
 */
export const ExchangeView = memo(function ExchangeView(props: ExchangeViewProps) {
  const { agentName, charge, costSoFar, extras, live, onReplace, sessionId, stored } = props
  const [isEditing, setEditing] = useState(false)
  const isUnderWay = live !== undefined && live.phase !== 'stored' && live.phase !== 'failed'
  const message = stored ? stored.message?.content : live?.message
  const files = stored ? (stored.message ? filesOf(stored.message) : []) : (live?.files.map(shownOf) ?? [])
  const parts = extras?.parts ?? stored?.parts ?? live?.parts ?? []
  const note = extras?.note ?? live?.note
  const turnId = stored?.turnId ?? live?.turnId
  const { message: own } = stored ?? {}
  const again = onReplace && own && { message: own, send: (text: string) => onReplace(own, text) }
  return (
    <li className={classes.exchange}>
      {files.length > 0 && (
        <div className={classes.files}>
          <MessageFiles files={files} />
        </div>
      )}
      {again && isEditing ? (
        <EditMessage
          sessionId={sessionId}
          message={again.message}
          onSend={(text) => {
            setEditing(false)
            again.send(text)
          }}
          onCancel={() => setEditing(false)}
        />
      ) : (
        message !== undefined &&
        (message !== '' || files.length === 0) && (
          <div className={classes.own}>
            <CopyButton value={message} what="message" />
            <UserMessage text={message} />
          </div>
        )
      )}
      <div className={classes.reply}>
        <Text size="sm" fw={600}>
          {agentName}
        </Text>
        <ReplyParts parts={parts} isOpen={isUnderWay} />
        {isUnderWay && <Progress phase={live.phase} hasParts={parts.length > 0} costSoFar={costSoFar} />}
        {!isUnderWay && !note && parts.length === 0 && <Text c="dimmed">The reply is empty.</Text>}
        {note && (
          <ReplyNotice
            note={note}
            sessionId={sessionId}
            isStored={stored !== undefined || live?.phase === 'stored'}
            charge={charge}
          />
        )}
        {turnId !== undefined && (
          <ExchangeFooter
            turnId={turnId}
            text={() => textOf(parts)}
            isTruncated={stored?.reply?.truncated === true}
            at={stored?.reply?.createdAt}
            charge={charge}
            extras={extras}
            {...(again && {
              replace: {
                sessionId,
                message: again.message,
                onRegenerate: () => again.send(again.message.content),
                onEdit: () => setEditing(true),
              },
            })}
          />
        )}
      </div>
    </li>
  )
})

type ProgressProps = { phase: LiveExchange['phase']; hasParts: boolean; costSoFar: string | undefined }

function Progress({ costSoFar, hasParts, phase }: ProgressProps) {
  const text =
    phase === 'settling'
      ? 'Checking the stored reply and its charge…'
      : hasParts
        ? 'Writing…'
        : 'Waiting for the reply…'
  return (
    <div className={classes.progress}>
      <Loader size={12} type="dots" aria-hidden />
      <Text size="sm" c="dimmed">
        {text}
        {hasParts && costSoFar !== undefined && ` About ${costSoFar} so far.`}
      </Text>
    </div>
  )
}
