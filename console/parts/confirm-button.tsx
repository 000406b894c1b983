import { Box, Button, Group, Modal, type ButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

type ConfirmDialogProps = {
  isOpen: boolean
  onClose: () => void
  /** The question that the dialog asks, for example `Revoke this key?`. */
  title: string
  children: ReactNode
  confirmLabel: string
  /**
   * Label of the button that dismisses the dialog. Set it if the action itself cancels something, because `Cancel`
   * would then be ambiguous.
   */
  dismissLabel?: string
  /** Performs the action. If it rejects, the dialog stays open and shows the error. */
  onConfirm: () => Promise<unknown>
}

type ConfirmButtonProps = Omit<ConfirmDialogProps, 'isOpen' | 'onClose'> & {
  label: string
  /** Distinguishes buttons with the same label, for example `Log out Firefox`. */
  ariaLabel?: string
  buttonProps?: ButtonProps
}

/** Button for irreversible actions. Opens a dialog that asks for confirmation and shows errors. */
export function ConfirmButton({ label, ariaLabel, buttonProps, ...dialog }: ConfirmButtonProps) {
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <>
      <Button size="xs" variant="default" {...buttonProps} onClick={open} aria-label={ariaLabel}>
        {label}
      </Button>
      <ConfirmDialog {...dialog} isOpen={isOpen} onClose={close} />
    </>
  )
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title, children, confirmLabel, dismissLabel = 'Cancel', onConfirm } = props
  const action = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  return (
    <Modal opened={isOpen} onClose={onClose} onExitTransitionEnd={action.reset} title={title}>
      <Box mb="md">{children}</Box>
      {action.error && <ErrorNotice error={action.error} />}
      <Group justify="flex-end" mt="md" gap="xs">
        <Button variant="default" onClick={onClose} data-autofocus>
          {dismissLabel}
        </Button>
        <Button color="red" loading={action.isPending} onClick={() => action.mutate()}>
          {confirmLabel}
        </Button>
      </Group>
    </Modal>
  )
}
