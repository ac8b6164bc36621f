"""What Terraform gets of the shell's environment."""

from rdlc.adapters.terraform.environment import scrub

SHELL = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "SECRET_OF_ANOTHER_PROGRAM": "x",
    "AWS_PROFILE": "team",
    "AWS_REGION": "eu-north-1",
    "AWS_DEFAULT_REGION": "eu-north-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_S3_ENDPOINT": "http://127.0.0.1:2",
    "TF_VAR_name": "evil",
    "TF_CLI_ARGS": "-lock=false",
    "TF_CLI_ARGS_plan": "-var=name=evil",
    "TF_WORKSPACE": "other",
    "TF_DATA_DIR": "/tmp/x",
    "TF_LOG": "trace",
    "TF_INPUT": "1",
    "TF_CLI_CONFIG_FILE": "/etc/terraformrc",
    "TF_PLUGIN_CACHE_DIR": "/cache",
}


def test_what_could_change_the_plan_is_left_out_and_credentials_are_kept() -> None:
    scrubbed = scrub(SHELL, region="us-east-2", token="0" * 32)

    assert scrubbed.values == {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "AWS_PROFILE": "team",
        "AWS_REGION": "us-east-2",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "TF_CLI_CONFIG_FILE": "/etc/terraformrc",
        "TF_PLUGIN_CACHE_DIR": "/cache",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "GOGC": "200",
        "RDLC_TERRAFORM_RUN": "0" * 32,
    }


def test_what_was_meant_for_terraform_and_is_left_out_is_named() -> None:
    assert scrub(SHELL, region="r", token="t").ignored == (
        "AWS_S3_ENDPOINT",
        "TF_CLI_ARGS",
        "TF_CLI_ARGS_plan",
        "TF_DATA_DIR",
        "TF_LOG",
        "TF_VAR_name",
        "TF_WORKSPACE",
    )
