import { Button, Group, NumberInput, Popover, Stack, Text, type NumberInputProps } from '@mantine/core'
import { MixerHorizontalIcon } from '@radix-ui/react-icons'
import { useState } from 'react'
import type { Agent } from '../../../../client/client.ts'
import { changeDraft, type ChatParams } from '../transcript/chat-drafts.ts'
import classes from './composer.module.css'

type ChatOptionsProps = { sessionId: string; params: ChatParams; chat: Agent['chat'] | undefined }

export function paramErrors(
  { maxTokens, temperature }: ChatParams,
  chat: Agent['chat'] | undefined,
): { temperature?: string; maxTokens?: string } {
  const most = chat?.maxOutputTokens
  return {
    ...(temperature !== undefined && (temperature < 0 || temperature > 2) && { temperature: 'Must be from 0 to 2' }),
    ...(maxTokens !== undefined &&
      (!Number.isInteger(maxTokens) || maxTokens < 1 || (most !== undefined && maxTokens > most)) && {
        maxTokens: most === undefined ? 'Must be at least 1' : `Must be from 1 to ${most}`,
      }),
  }
}

export function ChatOptions({ chat, params, sessionId }: ChatOptionsProps) {
  const errors = paramErrors(params, chat)
  const set = (name: keyof ChatParams, value: number | undefined) => {
    const { [name]: _, ...others } = params
    changeDraft(sessionId, { params: value === undefined ? others : { ...others, [name]: value } })
  }
  const count = Object.keys(params).length
  const label = count === 0 ? 'Options' : `Options (${count})`
  return (
    <Popover position="top-end" width={280} trapFocus returnFocus withRoles shadow="md">
      <Popover.Target>
        <Button size="xs" variant="default" px="xs" aria-label={label}>
          <MixerHorizontalIcon aria-hidden />
          <span className={classes.optionsText}>{label}</span>
          {count > 0 && (
            <span className={classes.optionsCount} aria-hidden>
              {count}
            </span>
          )}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Message options">
        <Stack gap="sm">
          <ParamInput
            label="Temperature"
            description="Use 0 for focused replies and 2 for varied replies."
            min={0}
            max={2}
            step={0.1}
            decimalScale={2}
            value={params.temperature}
            onChange={(value) => set('temperature', value)}
            error={errors.temperature}
          />
          <ParamInput
            label="Max output tokens"
            description={chat ? `At most ${chat.maxOutputTokens.toLocaleString('en')}.` : undefined}
            min={1}
            allowDecimal={false}
            allowNegative={false}
            value={params.maxTokens}
            onChange={(value) => set('maxTokens', value)}
            error={errors.maxTokens}
          />
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" c="dimmed">
              These options apply to the messages that you send on this page.
            </Text>
            <Button
              size="compact-sm"
              variant="subtle"
              flex="none"
              onClick={() => changeDraft(sessionId, { params: {} })}
            >
              Reset options
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

type ParamInputProps = Omit<NumberInputProps, 'value' | 'onChange'> & {
  value: number | undefined
  onChange: (value: number | undefined) => void
}

/** Keeps input that is not a number yet, such as `0.`. */
function ParamInput({ onChange, value, ...rest }: ParamInputProps) {
  const [typed, setTyped] = useState<number | string>(value ?? '')
  const shown = toNumber(typed) === value ? typed : (value ?? '')
  return (
    <NumberInput
      placeholder="Agent default"
      clampBehavior="none"
      {...rest}
      value={shown}
      onChange={(next) => {
        setTyped(next)
        onChange(toNumber(next))
      }}
    />
  )
}

function toNumber(typed: number | string): number | undefined {
  const number = typed === '' ? Number.NaN : Number(typed)
  return Number.isFinite(number) ? number : undefined
}
