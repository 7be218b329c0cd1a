namespace Kv.Server.Scripting;

/// <summary>Error texts of scripts, as 7.0.15 writes them.</summary>
internal static class ScriptErrors
{
    public static ReadOnlySpan<byte> NoScript => "NOSCRIPT No matching script. Please use EVAL."u8;
    public static ReadOnlySpan<byte> NotBusy => "NOTBUSY No scripts in execution right now."u8;
    public static ReadOnlySpan<byte> BusyWithFunction =>
        "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."u8;
    public static ReadOnlySpan<byte> Unkillable =>
        "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the "u8
        + "script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."u8;
    public static ReadOnlySpan<byte> NoFunction => "ERR Function not found"u8;
    public static ReadOnlySpan<byte> NoLibrary => "ERR Library not found"u8;
    public static ReadOnlySpan<byte> BadKeys => "ERR Bad number of keys provided"u8;
    public static ReadOnlySpan<byte> MayWrite =>
        "ERR Can not execute a script with write flag using *_ro command."u8;
    public static ReadOnlySpan<byte> NegativeKeys => "ERR Number of keys can't be negative"u8;
    public static ReadOnlySpan<byte> TooManyKeys => "ERR Number of keys can't be greater than number of args"u8;

    public const string NoCommand = "ERR Please specify at least one argument for this redis lib call";
    public const string BadArgument = "ERR Lua redis lib command arguments must be strings or integers";
    public const string NoSuchCommand = "ERR Invalid command passed to redis.acl_check_cmd()";
    public const string UnknownCommand = "ERR Unknown Redis command called from script";
    public const string WrongArity = "ERR Wrong number of args calling Redis command from script";
    public const string NotAllowed = "ERR This Redis command is not allowed from script";
    public const string ReadOnly = "ERR Write commands are not allowed from read-only scripts.";
    public const string OverMemory = "OOM command not allowed when used memory > 'maxmemory'.";
    public const string Killed = "Script killed by user with SCRIPT KILL...";
    public const string Stopped = "the server stops";
    public const string LoadTimeout = "ERR FUNCTION LOAD timeout";
    public const string TookTooLong = "script ran longer than script-time-limit";
}
