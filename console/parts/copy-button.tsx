import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { CheckIcon, CopyIcon } from '@radix-ui/react-icons'

type CopyButtonProps = {
  /** Text to copy. Pass a function if the text is expensive to create. */
  value: string | (() => string)
  /** Name of the text, for example `the task id`. */
  what: string
  withLabel?: boolean
}

export function CopyButton({ value, what, withLabel = false }: CopyButtonProps) {
  const clipboard = useClipboard({ timeout: 1500 })
  const copy = () => clipboard.copy(typeof value === 'function' ? value() : value)
  const label = clipboard.copied ? 'Copied' : `Copy ${what}`
  const icon = clipboard.copied ? <CheckIcon aria-hidden /> : <CopyIcon aria-hidden />
  if (withLabel) {
    return (
      <Button size="xs" variant="default" leftSection={icon} onClick={copy}>
        <span aria-live="polite">{label}</span>
      </Button>
    )
  }
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={copy}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}
