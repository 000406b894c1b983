import { ActionIcon, Drawer, Portal, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { CodeIcon } from '@radix-ui/react-icons'
import type { ReactNode } from 'react'

const title = 'Code examples'

/** Element of the page header that shows the button, so that a form deep in the page can pass its current input. */
export const codeSlotId = 'page-code'

/** Button in the page header that opens a drawer with code for the page's operations. Hidden on phones. */
export function PageCode({ children }: { children: ReactNode }) {
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <>
      <Portal target={`#${codeSlotId}`}>
        <ActionIcon
          variant="default"
          size="input-sm"
          aria-label={title}
          title={title}
          aria-haspopup="dialog"
          onClick={open}
        >
          <CodeIcon aria-hidden />
        </ActionIcon>
      </Portal>
      <Drawer opened={isOpen} onClose={close} title={title} position="right" size="xl">
        <Stack gap="lg">{children}</Stack>
      </Drawer>
    </>
  )
}
