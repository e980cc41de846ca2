"""`python -m truerank` is the command `truerank`."""

from truerank.cli.app import main

if __name__ == "__main__":
    main()
