import { ActionIcon, Button, Fieldset, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { Cross2Icon, PlusIcon } from '@radix-ui/react-icons'
import { useRef } from 'react'
import { PasswordField } from '../../../parts/password-field.tsx'
import classes from '../settings.module.css'
import {
  newHeaderRow,
  type AuthType,
  type ConnectorDraft,
  type DraftErrors,
  type HeaderRow,
} from './connector-draft.ts'

type ConnectorAuthFieldsProps = {
  draft: ConnectorDraft
  onChange: (changes: Partial<ConnectorDraft>) => void
  errors: DraftErrors
  /** Whether the connector has a URL. The operator's servers accept no headers. */
  isByUrl: boolean
  kept?: AuthType | undefined
}

const headersMax = 10
const labels: Record<AuthType, string> = {
  none: 'None',
  bearer: 'Bearer token',
  headers: 'Custom headers',
  oauth: 'Sign in (OAuth)',
}

/** Form fields for the authentication method and its secrets. Stored secrets are never shown. */
export function ConnectorAuthFields({ draft, onChange, errors, isByUrl, kept }: ConnectorAuthFieldsProps) {
  const types: AuthType[] = isByUrl ? ['none', 'bearer', 'headers', 'oauth'] : ['none', 'bearer']
  const { authType, clientId, clientSecret, token } = draft
  const isKept = authType === kept
  return (
    <Stack gap="md">
      <NativeSelect
        label="Authentication"
        data={types.map((value) => ({ value, label: !isByUrl && value === 'bearer' ? 'Token' : labels[value] }))}
        value={authType}
        onChange={(event) => onChange({ authType: event.currentTarget.value as AuthType })}
        error={errors['auth']}
      />
      {authType === 'bearer' && (
        <PasswordField
          label="Token"
          description={
            isKept
              ? 'Leave empty to keep the current token.'
              : isByUrl
                ? 'Stored encrypted and never shown again.'
                : 'Passed to the server when it starts. Stored encrypted and never shown again.'
          }
          autoComplete="off"
          value={token}
          onChange={(event) => onChange({ token: event.currentTarget.value })}
          error={errors['token']}
        />
      )}
      {authType === 'oauth' && (
        <>
          <Text size="sm" c="dimmed">
            You will sign in after adding the connector. Most servers register Errand automatically, so you can leave
            the client fields empty{isKept ? ' or keep the current client' : ''}.
          </Text>
          <TextInput
            label="Client ID"
            autoComplete="off"
            spellCheck={false}
            value={clientId}
            onChange={(event) => onChange({ clientId: event.currentTarget.value })}
            error={errors['clientId']}
          />
          <PasswordField
            label="Client secret"
            autoComplete="off"
            value={clientSecret}
            onChange={(event) => onChange({ clientSecret: event.currentTarget.value })}
            error={errors['clientSecret']}
          />
        </>
      )}
      {authType === 'headers' && <HeaderFields {...{ draft, onChange, errors, isKept }} />}
    </Stack>
  )
}

type HeaderFieldsProps = Pick<ConnectorAuthFieldsProps, 'draft' | 'onChange' | 'errors'> & { isKept: boolean }

function HeaderFields({ draft: { headers }, onChange, errors, isKept }: HeaderFieldsProps) {
  const set = (next: readonly HeaderRow[]) => onChange({ headers: next })
  const fieldset = useRef<HTMLFieldSetElement>(null)
  const remove = (id: number) => {
    set(headers.filter((row) => row.id !== id))
    // The removed row contained the focused button, so move focus.
    fieldset.current?.querySelector<HTMLElement>('[data-add]')?.focus()
  }
  const change = (id: number, changes: Partial<HeaderRow>) =>
    set(headers.map((row) => (row.id === id ? { ...row, ...changes } : row)))
  return (
    <Fieldset legend="Headers" ref={fieldset}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {isKept
            ? 'Leave empty to keep the current headers. New headers replace all of them.'
            : 'Sent with every request. Stored encrypted and never shown again.'}
        </Text>
        {headers.map(({ id, name, value }, at) => (
          <div key={id} className={classes.header}>
            <TextInput
              aria-label={`Name of header ${at + 1}`}
              placeholder="X-Api-Key"
              autoComplete="off"
              spellCheck={false}
              value={name}
              onChange={(event) => change(id, { name: event.currentTarget.value })}
              error={errors[`name-${id}`]}
            />
            <PasswordField
              aria-label={`Value of header ${at + 1}`}
              placeholder="Value"
              autoComplete="off"
              value={value}
              onChange={(event) => change(id, { value: event.currentTarget.value })}
              error={errors[`value-${id}`]}
            />
            <ActionIcon
              variant="default"
              size={36}
              aria-label={`Remove header ${at + 1}`}
              disabled={headers.length === 1}
              onClick={() => remove(id)}
            >
              <Cross2Icon aria-hidden />
            </ActionIcon>
          </div>
        ))}
        <Group>
          <Button
            size="xs"
            variant="default"
            data-add
            leftSection={<PlusIcon aria-hidden />}
            disabled={headers.length >= headersMax}
            onClick={() => set([...headers, newHeaderRow()])}
          >
            Add header
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  )
}
