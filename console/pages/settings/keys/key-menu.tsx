import { ActionIcon, Menu } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { DotsHorizontalIcon } from '@radix-ui/react-icons'
import { useRef } from 'react'
import type { Key } from '../../../../client/client.ts'
import { RevokeKeyDialog } from './revoke-key-dialog.tsx'

type KeyMenuProps = { of: Key; onLimit: () => void; onRotate: () => void }

export function KeyMenu({ of: key, onLimit, onRotate }: KeyMenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  const [isAsking, { open, close }] = useDisclosure()
  // Focus the button before a dialog opens, because the dialog returns focus to the previously focused element. The
  // menu would move focus only later, out of the dialog.
  const choose = (action: () => void) => () => {
    button.current?.focus()
    action()
  }
  return (
    <>
      {/* Rendered in the main landmark, because inside the table it would be clipped. */}
      <Menu
        position="bottom-end"
        width={150}
        portalProps={{ target: 'main' }}
        withInitialFocusPlaceholder={false}
        returnFocus={false}
      >
        <Menu.Target>
          <ActionIcon ref={button} variant="default" size={30} aria-label={`Actions for ${key.name}`}>
            <DotsHorizontalIcon aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={choose(onLimit)}>Edit limits</Menu.Item>
          <Menu.Item onClick={choose(onRotate)}>Rotate</Menu.Item>
          <Menu.Item onClick={choose(open)}>Revoke</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <RevokeKeyDialog of={key} isOpen={isAsking} onClose={close} />
    </>
  )
}
