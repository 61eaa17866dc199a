from unittest.mock import Mock

from alerts.rules import late_order, low_stock


def test_low_stock():
    notify = Mock()
    low_stock("bolt", 4, notify)
    notify.assert_called_once_with("buyer", "bolt is low")


def test_low_stock_nine():
    notify = Mock()
    low_stock("nut", 9, notify)
    notify.assert_called_once_with("buyer", "nut is low")


def test_enough_stock():
    notify = Mock()
    low_stock("nut", 90, notify)
    notify.assert_not_called()


def test_late_order():
    notify = Mock()
    late_order("A-1", 5, notify)
    notify.assert_called_once_with("customer", "A-1")


def test_very_late_order():
    notify = Mock()
    late_order("A-2", 50, notify)
    notify.assert_called_once_with("customer", "A-2")
