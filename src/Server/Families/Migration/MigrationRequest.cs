using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>What a MIGRATE is asked for. Immutable, and all its own: it outlasts the arguments.</summary>
internal sealed class MigrationRequest
{
    /// <summary>Keys of one command.</summary>
    public const int KeysMax = 65_536;

    private const long TimeoutMsDefault = 1000;

    private MigrationRequest()
    {
    }

    public required string Host { get; init; }

    /// <summary>As it was given: whether it is a port is found out when it is connected to.</summary>
    public required string Port { get; init; }

    /// <summary>The number of the database over there; whether there is such a one is for the target to say.</summary>
    public required long TargetDatabase { get; init; }

    /// <summary>For each thing that is waited for: the connection, 64 KB sent, a reply.</summary>
    public required TimeSpan Timeout { get; init; }

    /// <summary>The keys stay here.</summary>
    public bool Copies { get; private set; }

    /// <summary>The keys may be at the target already.</summary>
    public bool Replaces { get; private set; }

    /// <summary>For AUTH at the target; null without.</summary>
    public byte[]? User { get; private set; }

    public byte[]? Password { get; private set; }

    /// <summary>Pinned, as lists of keys to hold need them.</summary>
    public byte[][] Keys { get; private set; } = [];

    /// <summary>Reads the arguments.</summary>
    /// <returns>Null after writing an error.</returns>
    public static MigrationRequest? TryRead(ref CommandContext context)
    {
        ref var args = ref context.Args;
        string host = Encoding.Latin1.GetString(args.NextBytes()), port = Encoding.Latin1.GetString(args.NextBytes());
        var key = args.NextBytes();
        ReadOnlySpan<byte> database = args.NextBytes(), timeout = args.NextBytes();
        var request = new MigrationRequest
        {
            Host = host, Port = port,
            TargetDatabase = NumberText.TryParseInt64(database, out long number) ? number : 0,
            Timeout = TimeoutOf(timeout),
        };
        request.ReadOptions(ref args, key);
        // Behind the options, as Redis looks at them.
        if (!NumberText.TryParseInt64(timeout, out _) || !NumberText.TryParseInt64(database, out _))
            args.Fail(Errors.NotAnInteger);
        return args.Finish(context.Reply) ? request : null;
    }

    private static TimeSpan TimeoutOf(ReadOnlySpan<byte> text)
    {
        if (!NumberText.TryParseInt64(text, out long ms) || ms <= 0) ms = TimeoutMsDefault;
        return TimeSpan.FromMilliseconds(Math.Min(ms, int.MaxValue));
    }

    private void ReadOptions(ref CommandArguments args, ReadOnlySpan<byte> key)
    {
        Keys = [Pinned(key)];
        while (args.Remaining > 0)
        {
            if (args.TryKeyword("COPY"u8))
            {
                Copies = true;
            }
            else if (args.TryKeyword("REPLACE"u8))
            {
                Replaces = true;
            }
            else if (args.TryKeyword("AUTH"u8))
            {
                Password = args.NextBytes().ToArray();
            }
            else if (args.TryKeyword("AUTH2"u8))
            {
                User = args.NextBytes().ToArray();
                Password = args.NextBytes().ToArray();
            }
            else if (args.TryKeyword("KEYS"u8))
            {
                if (!key.IsEmpty)
                    args.Fail("ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"u8);
                args.RequireAtMost(KeysMax, "keys for MIGRATE");
                Keys = new byte[args.Remaining][];
                for (int i = 0; i < Keys.Length; i++) Keys[i] = Pinned(args.NextBytes());
                return;     // all behind KEYS are keys
            }
            else
            {
                args.SyntaxError();
            }
        }
    }

    private static byte[] Pinned(ReadOnlySpan<byte> key)
    {
        byte[] copy = GC.AllocateUninitializedArray<byte>(key.Length, pinned: true);
        key.CopyTo(copy);
        return copy;
    }
}
