"""The command `truerank`: one file a verb, each a thin call of one public function."""
