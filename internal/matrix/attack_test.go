package matrix

import (
	"testing"

	"github.com/stint-go/stint/core/adaptertest"
)

// attack repels one attack of core/adaptertest with every backend and adapter.
func attack(t *testing.T, id string) {
	each(t, func(t *testing.T, a adaptertest.Adapter, o adaptertest.Options) { adaptertest.Attack(t, a, o, id) })
}

func TestAttack_E1(t *testing.T)  { attack(t, "E1") }
func TestAttack_E2(t *testing.T)  { attack(t, "E2") }
func TestAttack_E3(t *testing.T)  { attack(t, "E3") }
func TestAttack_E4(t *testing.T)  { attack(t, "E4") }
func TestAttack_E5(t *testing.T)  { attack(t, "E5") }
func TestAttack_E6(t *testing.T)  { attack(t, "E6") }
func TestAttack_E8(t *testing.T)  { attack(t, "E8") }
func TestAttack_E9(t *testing.T)  { attack(t, "E9") }
func TestAttack_E10(t *testing.T) { attack(t, "E10") }
func TestAttack_E11(t *testing.T) { attack(t, "E11") }
func TestAttack_F1(t *testing.T)  { attack(t, "F1") }
func TestAttack_F2(t *testing.T)  { attack(t, "F2") }
func TestAttack_F3(t *testing.T)  { attack(t, "F3") }
func TestAttack_F4(t *testing.T)  { attack(t, "F4") }
func TestAttack_F5(t *testing.T)  { attack(t, "F5") }
func TestFault_F6(t *testing.T)   { attack(t, "F6") }
func TestFault_F7(t *testing.T)   { attack(t, "F7") }
func TestFault_F8(t *testing.T)   { attack(t, "F8") }
func TestAttack_F9(t *testing.T)  { attack(t, "F9") }
func TestAttack_F10(t *testing.T) { attack(t, "F10") }
func TestAttack_F11(t *testing.T) { attack(t, "F11") }
func TestAttack_F12(t *testing.T) { attack(t, "F12") }
func TestAttack_F13(t *testing.T) { attack(t, "F13") }
func TestAttack_F14(t *testing.T) { attack(t, "F14") }
