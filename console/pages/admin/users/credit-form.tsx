import { Box, Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { ErrandClientError, newIdempotencyKey, type User } from '../../../../client/client.ts'
import { formatUsd, parseUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { Money } from '../../../parts/text/money.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'
import { usdUnits } from '../../../parts/text/usd-units.ts'
import classes from '../admin.module.css'
import { rereadMoney } from './keep-user.ts'

type Way = 'add' | 'take'
type Draft = { way: Way; amount: string; reason: string; idempotencyKey: string }
type Errors = { amountUsd?: string; reason?: string }

const newDraft = (): Draft => ({ way: 'add', amount: '', reason: '', idempotencyKey: newIdempotencyKey() })

export function CreditForm({ user }: { user: User }) {
  const [draft, setDraft] = useState(newDraft)
  const [own, setOwn] = useState<Errors>({})
  const [isAsking, setAsking] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const { way, amount, reason } = draft
  const typed = parseUsd(amount.trim())
  const units = typed === undefined || typed <= 0 ? undefined : way === 'add' ? typed : -typed
  const input = { userId: user.id, amountUsd: units === undefined ? '0' : formatUsd(units), reason: reason.trim() }

  const credit = useMutation({
    mutationFn: ({ idempotencyKey }: Draft) => client.users.credit(input, { idempotencyKey }),
    onSuccess: ({ balanceUsd }) => {
      const change = input.amountUsd.replace('-', '')
      notifyDone(
        `${usdText(change)} ${way === 'add' ? 'added' : 'deducted'}. The balance of ${user.email} is ${usdText(balanceUsd)}.`,
      )
      setDraft(newDraft())
      form.current?.querySelector<HTMLInputElement>('input[name="amountUsd"]')?.focus()
    },
    onSettled: () => rereadMoney(user.id),
  })
  const { fields, rest } = fieldErrors(credit.error, ['amountUsd', 'reason'])
  const isUnknown = isOutcomeUnknown(credit.error)
  // If the outcome is unknown, allow the same request again, whatever the balance is now.
  const obstacle = units === undefined || isUnknown ? undefined : obstacleOf(user, units)
  useEffect(() => {
    form.current?.querySelector<HTMLInputElement>('input[aria-invalid="true"]')?.focus()
  }, [credit.error, own])

  const change = (part: Partial<Draft>) => {
    // Changed values get a new key. Unchanged values keep theirs, so that submitting them again books them only once.
    setDraft({ ...draft, ...part, idempotencyKey: newIdempotencyKey() })
    setOwn({})
    credit.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const errors: Errors = {
      ...(units === undefined && {
        amountUsd: 'Enter an amount in USD greater than zero, with at most four decimal places',
      }),
      ...(obstacle !== undefined && { amountUsd: obstacle }),
      ...(input.reason === '' && { reason: 'Enter a reason' }),
    }
    setOwn(errors)
    if (Object.keys(errors).length > 0 || credit.isPending) return
    if (way === 'take') setAsking(true)
    else credit.mutate(draft)
  }

  const take = () => {
    setAsking(false)
    credit.mutate(draft)
  }

  return (
    <Box component="form" ref={form} onSubmit={submit} noValidate mt="lg" aria-label="Change balance">
      <Stack gap="md">
        <SegmentedControl
          aria-label="Type of change"
          data={[
            { value: 'add', label: 'Add' },
            { value: 'take', label: 'Deduct' },
          ]}
          value={way}
          onChange={(value) => change({ way: value as Way })}
          disabled={credit.isPending}
          w="fit-content"
        />
        {rest && (
          <Box>
            <ErrorNotice
              title={isUnknown ? 'Could not confirm the change' : 'Could not change the balance'}
              error={credit.error}
            />
            {isUnknown && (
              <Text mt="xs">
                Check the transactions, or submit the form again without changes. The change is applied only once.
              </Text>
            )}
          </Box>
        )}
        <Group align="flex-start" gap="md" wrap="wrap">
          <TextInput
            label="Amount in USD"
            name="amountUsd"
            inputMode="decimal"
            autoComplete="off"
            placeholder="0.0000"
            leftSection="$"
            maxLength={20}
            w={{ base: '100%', xs: 168 }}
            value={amount}
            onChange={(event) => change({ amount: event.currentTarget.value })}
            readOnly={credit.isPending}
            // Prefer a message about the current balance, because the service's error refers to an earlier balance.
            error={own.amountUsd ?? (fields['amountUsd'] && (obstacle ?? fields['amountUsd']))}
          />
          <TextInput
            label="Reason (visible to the user)"
            name="reason"
            autoComplete="off"
            placeholder={way === 'add' ? 'For example: invoice 2041' : 'For example: correction of a credit'}
            maxLength={500}
            flex={1}
            miw={{ base: '100%', xs: 200 }}
            value={reason}
            onChange={(event) => change({ reason: event.currentTarget.value })}
            readOnly={credit.isPending}
            error={own.reason ?? fields['reason']}
          />
        </Group>
        <AfterIt user={user} way={way} units={isUnknown ? undefined : units} obstacle={obstacle} />
        <Group justify="flex-end">
          <Button type="submit" loading={credit.isPending}>
            {way === 'add' ? 'Add credit' : 'Deduct credit'}
          </Button>
        </Group>
      </Stack>
      <Modal
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={`Deduct ${usdText(input.amountUsd.replace('-', ''))}?`}
      >
        <Text>
          This reduces the balance of {user.email}, who sees the reason “{input.reason}”.
        </Text>
        <Group justify="flex-end" mt="md" gap="xs">
          <Button variant="default" onClick={() => setAsking(false)} data-autofocus>
            Cancel
          </Button>
          <Button color="red" onClick={take}>
            Deduct
          </Button>
        </Group>
      </Modal>
      <FoldedSnippets
        isForPlatform
        request={{
          method: 'POST',
          path: `/api/users/${encodeURIComponent(user.id)}/credit`,
          body: { amountUsd: input.amountUsd, reason: input.reason },
          headers: { 'Idempotency-Key': draft.idempotencyKey },
        }}
        call={{ method: 'users.credit', input, idempotencyKey: draft.idempotencyKey, result: 'credited' }}
      />
    </Box>
  )
}

const balanceMax = 1_000_000_000_000_000

/** Returns why the service would reject the amount. The text includes the highest valid amount. */
function obstacleOf(user: User, units: number): string | undefined {
  const balance = usdUnits(user.balanceUsd)
  const held = usdUnits(user.heldUsd)
  if (balance + units > balanceMax) {
    return `You can add at most ${usdText(formatUsd(balanceMax - balance))}, because the maximum balance is ${usdText(formatUsd(balanceMax))}.`
  }
  if (balance + units >= held) return undefined
  const most = `You can deduct at most ${usdText(formatUsd(balance - held))}`
  return held === 0 ? `${most}.` : `${most}, because ${usdText(user.heldUsd)} is held for replies in progress.`
}

type AfterItProps = { user: User; way: Way; units: number | undefined; obstacle: string | undefined }

/** Previews the new balance. Uses integer units for the calculation, like the service. */
function AfterIt({ user, way, units, obstacle }: AfterItProps) {
  const after = units === undefined ? undefined : usdUnits(user.balanceUsd) + units
  return (
    <Box>
      <dl className={classes.sum}>
        <dt>Balance now</dt>
        <dd>
          <Money usd={user.balanceUsd} />
        </dd>
        <dt>{way === 'add' ? 'Credit' : 'Deducted'}</dt>
        <dd>{units === undefined ? '–' : <Money usd={formatUsd(units)} withPlus />}</dd>
        <dt className={classes.total}>Balance after</dt>
        <dd className={classes.total} aria-live="polite" data-testid="balance-after">
          {after === undefined ? '–' : <Money usd={formatUsd(after)} {...(obstacle && { c: 'red' })} />}
        </dd>
      </dl>
      <Text size="sm" c="red" mt={6} role="status">
        {obstacle}
      </Text>
    </Box>
  )
}

/** Whether the response was lost, so that the amount may or may not have been booked. */
function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof ErrandClientError && /^(?:NETWORK_ERROR|TIMEOUT)$/.test(error.code)
}
