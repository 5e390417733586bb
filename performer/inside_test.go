package performer

// What stands behind a form, for tests.
func (a *Linear[T]) inside() *linear[T]       { return a.linearForm.(*linear[T]) }
func (l *Landmarks[T]) inside() *landmarks[T] { return l.landmarksForm.(*landmarks[T]) }
