import { Button, Group, Text, Textarea } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { PaperPlaneIcon, StopIcon } from '@radix-ui/react-icons'
import { useEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from 'react'
import type { Agent } from '../../../../client/client.ts'
import { changeDraft, useDraft } from '../transcript/chat-drafts.ts'
import { useAccount } from '../../../app/use-account.ts'
import { shownOf } from '../reply/file-views.ts'
import { MessageFiles } from '../reply/message-files.tsx'
import { AttachButton } from './attach-button.tsx'
import { chooseFiles, type AttachedFile } from './attached-files.ts'
import { ChatOptions, paramErrors } from './chat-options.tsx'
import classes from './composer.module.css'
import { useCostText } from './use-cost-text.ts'
import { useGrowingHeight } from './use-growing-height.ts'
import type { NewSession } from './use-start-chat.ts'
import { usdText } from '../../../parts/text/usd-text.ts'

type ComposerProps = {
  /** Session of the draft, or `newChatId`. */
  sessionId: string
  /** The session that the message would start, if there is none yet. */
  newSession?: NewSession
  /** The message that the up arrow key restores into an empty input. */
  lastMessage?: string | undefined
  agentName: string
  chat: Agent['chat'] | undefined
  isLoaded: boolean
  isBusy: boolean
  canStop: boolean
  onSend: (message: string, files: readonly AttachedFile[]) => void
  onStop: () => void
}

/**
 * Message input. The user can type during a reply. If the user sends a message before the transcript is loaded, the
 * message waits for it.
 */
export function Composer(props: ComposerProps) {
  const { agentName, canStop, chat, isBusy, isLoaded, lastMessage, newSession, onSend, onStop } = props
  const { sessionId } = props
  const draft = useDraft(sessionId)
  const { files, text, params } = draft
  const [errors, setErrors] = useState<readonly string[]>([])
  const [isPending, setPending] = useState(false)
  /** Whether the user tried to send during a reply. */
  const [isEarly, setEarly] = useState(false)
  const bodyBytesMax = useAccount().data?.maxBodyBytes
  const box = useRef<HTMLTextAreaElement>(null)
  const hasErrors = Object.keys(paramErrors(params, chat)).length > 0
  const isReady = !isBusy && (text.trim() !== '' || files.length > 0) && !hasErrors

  const isFirst = isLoaded && lastMessage === undefined && !newSession?.continues
  // After the first message, the hint has only one line.
  const costText = useCostText(newSession ?? { sessionId }, draft, isReady)
    ?.slice(0, isFirst ? 2 : 1)
    .join(' ')

  useGrowingHeight(box, text)
  useEffect(() => {
    // Do not focus the input on touch devices, whose keyboard would cover the conversation.
    if (matchMedia('(hover: hover)').matches) box.current?.focus({ preventScroll: true })
  }, [])
  useWindowEvent('keydown', (event) => {
    // In a dialog, Escape closes the dialog.
    const isFree = !event.defaultPrevented && !event.isComposing && !document.querySelector('[role=dialog]')
    if (canStop && event.key === 'Escape' && isFree) onStop()
  })
  const wasBusy = useRef(false)
  useEffect(() => {
    // The end of the reply has removed the focused button, so focus the input.
    if (wasBusy.current && !isBusy && document.activeElement === document.body) box.current?.focus()
    if (!isBusy) setEarly(false)
    wasBusy.current = isBusy
  }, [isBusy])

  const send = () => {
    setEarly(isBusy)
    setPending(isReady && !isLoaded)
    if (!isReady || !isLoaded) return
    // In a new chat, the draft stays in the input until the session exists.
    if (!newSession) changeDraft(sessionId, { text: '', files: [] })
    setErrors([])
    onSend(text, files)
    box.current?.focus()
  }
  useEffect(() => {
    if (isPending && isLoaded) send()
  })
  const accepts = chat?.accepts ?? []
  const attach = (given: readonly File[]) => {
    if (given.length === 0 || accepts.length === 0) return
    const next = chooseFiles(given, { accepts, attached: files, bodyBytesMax })
    setErrors(next.errors)
    changeDraft(sessionId, { files: [...files, ...next.chosen] })
    box.current?.focus()
  }
  const detach = (key: string) => {
    const gone = files.find((one) => one.key === key)
    if (gone?.preview !== undefined) URL.revokeObjectURL(gone.preview)
    changeDraft(sessionId, { files: files.filter((one) => one !== gone) })
    box.current?.focus()
  }
  const onPaste = (event: ClipboardEvent) => {
    // Text copied from a web page may include a picture of itself. In that case, paste the text.
    if (accepts.length === 0 || event.clipboardData.types.includes('text/plain')) return
    const given = [...event.clipboardData.files]
    if (given.length === 0) return
    event.preventDefault()
    attach(given)
  }
  const onDrop = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes('Files')) return
    // Otherwise the browser would open the file.
    event.preventDefault()
    attach([...event.dataTransfer.files])
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Ignore the Enter key that ends an IME composition, for example in Japanese. In Safari only the key code shows
    // this.
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229
    if (event.key === 'ArrowUp' && text === '' && files.length === 0 && lastMessage) {
      event.preventDefault()
      changeDraft(sessionId, { text: lastMessage })
    }
    if (event.key !== 'Enter' || event.shiftKey || isComposing) return
    event.preventDefault()
    send()
  }

  return (
    <div className={classes.composer} onDrop={onDrop} onDragOver={allowFiles}>
      {files.length > 0 && <MessageFiles files={files.map(shownOf)} onRemove={detach} />}
      {isEarly && (
        <Text size="sm" role="alert">
          You can send this when the reply ends.
        </Text>
      )}
      {errors.length > 0 && (
        <Text size="sm" c="red" role="alert">
          {errors.join(' ')}
        </Text>
      )}
      <Textarea
        ref={box}
        aria-label={`Message ${agentName}`}
        placeholder={`Message ${agentName}`}
        aria-describedby="composer-hint"
        rows={1}
        enterKeyHint="send"
        variant="unstyled"
        classNames={{ input: classes.input }}
        value={text}
        onChange={(event) => {
          setPending(false)
          changeDraft(sessionId, { text: event.currentTarget.value })
        }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text id="composer-hint" size="sm" c="dimmed" className={classes.hint} mod={{ first: isFirst }}>
          {canStop ? (
            <span className={classes.wide}>If you stop (Esc), you pay for the usage so far.</span>
          ) : (
            (costText ?? <Hint chat={chat} isFirst={isFirst} />)
          )}
        </Text>
        <Group gap="xs" wrap="nowrap">
          {accepts.length > 0 && <AttachButton accepts={accepts} onFiles={attach} />}
          <ChatOptions sessionId={sessionId} params={params} chat={chat} />
          {isBusy ? (
            <Button
              size="xs"
              variant="default"
              leftSection={<StopIcon aria-hidden />}
              onClick={onStop}
              disabled={!canStop}
            >
              Stop
            </Button>
          ) : (
            <Button
              size="xs"
              leftSection={<PaperPlaneIcon aria-hidden />}
              onClick={send}
              disabled={!isReady}
              loading={isPending}
            >
              Send
            </Button>
          )}
        </Group>
      </Group>
    </div>
  )
}

function allowFiles(event: DragEvent): void {
  if (event.dataTransfer.types.includes('Files')) event.preventDefault()
}

/** Before the first message, shows how to send it. After that, shows the prices. */
function Hint({ chat, isFirst }: { chat: Agent['chat'] | undefined; isFirst: boolean }) {
  if (isFirst) return <span className={classes.wide}>Enter to send, Shift+Enter for a new line.</span>
  if (!chat) return null
  const { inputPerMillionUsd, outputPerMillionUsd } = chat.pricing
  return (
    <span className={classes.wide}>
      {usdText(inputPerMillionUsd)} in, {usdText(outputPerMillionUsd)} out per million tokens
    </span>
  )
}
