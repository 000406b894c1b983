import type { Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmDialog } from '../../../parts/confirm-button.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { notifyDone } from '../../../parts/notify.tsx'

type RevokeKeyDialogProps = { of: Key; isOpen: boolean; onClose: () => void }

export function RevokeKeyDialog({ of: key, isOpen, onClose }: RevokeKeyDialogProps) {
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Revoke ${key.name}?`}
      confirmLabel="Revoke key"
      onConfirm={() => revoke(key)}
    >
      The key …{key.hint} stops working immediately. Tasks and chats that it started continue. This cannot be undone.
    </ConfirmDialog>
  )
}

async function revoke({ id, name }: Key): Promise<void> {
  await client.keys.revoke({ keyId: id })
  notifyDone(`${name} revoked.`)
  focusHeading()
  await queryClient.invalidateQueries({ queryKey: ['keys'] })
}
