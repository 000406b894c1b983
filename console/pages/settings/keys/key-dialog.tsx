import { Modal } from '@mantine/core'
import { useState } from 'react'
import type { Key } from '../../../../client/client.ts'
import { CreateKeyForm } from './create-key-form.tsx'
import { IssuedKeyView } from './issued-key-view.tsx'
import { setIssuedKey, useIssuedKey } from './issued-key.ts'
import { KeyLimitsForm } from './key-limits-form.tsx'
import { RotateKeyForm } from './rotate-key-form.tsx'

/** Purpose of the dialog: to create a key, to rotate a key, or to change a key's limits. */
export type KeyRequest = { kind: 'create' } | { kind: 'rotate' | 'limit'; of: Key }

type KeyDialogProps = { request: KeyRequest | undefined; isOpen: boolean; onClose: () => void }

/** Shows the form and then the new key in the same dialog, so that the dialog keeps its focus and position. */
export function KeyDialog({ request, isOpen, onClose }: KeyDialogProps) {
  const issued = useIssuedKey()
  const [isLeaving, setLeaving] = useState(false)
  const [isStored, setStored] = useState(false)
  const close = () => {
    // Closing asks for confirmation, so that the user does not lose the key by accident. Closing the confirmation shows
    // the key again.
    if (issued) setLeaving(!isLeaving)
    else onClose()
  }
  const finish = () => {
    setStored(true)
    onClose()
  }
  // Called after the dialog has faded out. Otherwise the form would reappear during the animation.
  const forget = () => {
    if (!isStored) return
    setIssuedKey(null)
    setStored(false)
    setLeaving(false)
  }
  const title = issued ? 'Store the API key' : titleOf(request)
  return (
    <Modal
      opened={isOpen || (issued !== undefined && !isStored)}
      onClose={close}
      onExitTransitionEnd={forget}
      closeOnClickOutside={issued === undefined}
      title={title}
      size="lg"
    >
      {issued ? (
        <IssuedKeyView issued={issued} isLeaving={isLeaving} onStay={() => setLeaving(false)} onStored={finish} />
      ) : request?.kind === 'rotate' ? (
        <RotateKeyForm of={request.of} onCancel={onClose} />
      ) : request?.kind === 'limit' ? (
        <KeyLimitsForm key={request.of.id} of={request.of} onClose={onClose} />
      ) : request ? (
        <CreateKeyForm onCancel={onClose} />
      ) : null}
    </Modal>
  )
}

function titleOf(request: KeyRequest | undefined): string {
  if (request?.kind === 'rotate') return `Rotate ${request.of.name}`
  return request?.kind === 'limit' ? `Limits of ${request.of.name}` : 'Create API key'
}
