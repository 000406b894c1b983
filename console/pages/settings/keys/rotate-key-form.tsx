import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { setIssuedKey } from './issued-key.ts'

const day = 86_400
const overlaps = [
  { value: '0', label: 'Immediately' },
  { value: '3600', label: 'After 1 hour' },
  { value: String(day), label: 'After 1 day' },
  { value: String(7 * day), label: 'After 7 days' },
  { value: String(30 * day), label: 'After 30 days' },
]

export function RotateKeyForm({ of, onCancel }: { of: Key; onCancel: () => void }) {
  const [overlap, setOverlap] = useState(String(day))
  const input = { keyId: of.id, overlapSeconds: Number(overlap) }
  const rotate = useMutation({
    mutationFn: () => client.keys.rotate(input),
    onSuccess: (created) => {
      const until = Date.parse(created.createdAt) + input.overlapSeconds * 1000
      const own = of.expiresAt === null ? Infinity : Date.parse(of.expiresAt)
      const endsAt = new Date(Math.min(until, own)).toISOString()
      setIssuedKey({ created, replaced: { hint: of.hint, endsAt } })
      void queryClient.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    rotate.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {rotate.error && <ErrorNotice title="Could not rotate the key" error={rotate.error} />}
        <Text>
          A new key with the same name and scopes replaces …{of.hint}. Both keys work until the old one expires.
        </Text>
        <NativeSelect
          label="Old key expires"
          data={overlaps}
          data-autofocus
          value={overlap}
          onChange={(event) => setOverlap(event.currentTarget.value)}
        />
        <FoldedSnippets
          request={{
            method: 'POST',
            path: `/api/keys/${of.id}/rotate`,
            body: { overlapSeconds: input.overlapSeconds },
          }}
          call={{ method: 'keys.rotate', input, result: 'created' }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={rotate.isPending}>
            Rotate key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
