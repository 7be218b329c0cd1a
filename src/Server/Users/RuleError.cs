namespace Kv.Server.Users;

/// <summary>What is wrong with a rule, in the words of Redis.</summary>
internal static class RuleError
{
    public const string Syntax = "Syntax error";
    public const string Unknown = "Unknown command or category name in ACL";
    public const string AfterAllKeys =
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. "
        + "Try 'resetkeys' to start with an empty list of patterns";
    public const string AfterAllChannels =
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. "
        + "Try 'resetchannels' to start with an empty list of channels";
    public const string NoSuchPassword = "The password you are trying to remove from the user does not exist";
    public const string BadHash =
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    public const string PatternTooLong = "The pattern is longer than 1024 bytes";
    public const string FirstArgumentTooLong = "The first-arg is longer than 1024 bytes";
    public const string TooMany = "A user has at most 10000 rules and passwords";
    public const string FirstArgumentOfSubcommand = "Allowing first-arg of a subcommand is not supported";
}
