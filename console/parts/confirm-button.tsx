import { Box, Button, Group, Modal, type ButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

type ConfirmButtonProps = {
  label: string
  /** Tells buttons of the same label apart, for example `Revoke the key deploy`. */
  ariaLabel?: string
  /** The question, for example `Revoke this key?`. */
  title: string
  /** What will happen. */
  children: ReactNode
  confirmLabel: string
  /** Of the button that leaves everything as it is; where the action itself is a cancel, `Cancel` would be taken for it. */
  dismissLabel?: string
  /** Resolves when it is done; a rejection is shown in the dialog, which then stays. */
  onConfirm: () => Promise<unknown>
  buttonProps?: ButtonProps
}

/** A button for what cannot be undone: asks first, shows what goes wrong. */
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
