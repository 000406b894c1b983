import { Box, Button, Group, Modal, type ButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

type ConfirmButtonProps = {
  label: string
  /** Distinguishes buttons with the same label, for example `Revoke the key deploy`. */
  ariaLabel?: string
  /** The question, for example `Revoke this key?`. */
  title: string
  /** The consequences. */
  children: ReactNode
  confirmLabel: string
  /**
   * Label of the button that changes nothing. Set it if the action itself is a cancellation, because `Cancel` would be
   * ambiguous.
   */
  dismissLabel?: string
  /** Resolves when the action is done. A rejection is shown in the dialog, which stays open. */
  onConfirm: () => Promise<unknown>
  buttonProps?: ButtonProps
}

/** Button for irreversible actions: asks for confirmation and shows errors. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { label, ariaLabel, title, children, confirmLabel, dismissLabel = 'Cancel', onConfirm, buttonProps } = props
  const [isOpen, { open, close }] = useDisclosure()
  const action = useMutation({ mutationFn: onConfirm, onSuccess: close })
  const start = () => {
    action.reset()
    open()
  }
  return (
    <>
      <Button size="xs" variant="default" {...buttonProps} onClick={start} aria-label={ariaLabel}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title}>
        <Box mb="md">{children}</Box>
        {action.error && <ErrorNotice error={action.error} />}
        <Group justify="flex-end" mt="md" gap="xs">
          <Button variant="default" onClick={close} data-autofocus>
            {dismissLabel}
          </Button>
          <Button color="red" loading={action.isPending} onClick={() => action.mutate()}>
            {confirmLabel}
          </Button>
        </Group>
      </Modal>
    </>
  )
}
