using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>Who a user is at one moment, and what they may do. Immutable: a change makes another one.</summary>
/// <param name="PayloadText">"", or the word that was given about the payloads of RESTORE, which are always
/// checked.</param>
/// <param name="PasswordHashes">SHA-256 of the passwords.</param>
/// <param name="Selectors">The user's own rules, and the further ones in parentheses.</param>
internal sealed record UserRules(bool IsOn, bool NeedsNoPassword, string PayloadText, byte[][] PasswordHashes,
    Selector[] Selectors)
{
    /// <summary>Whether nothing has to be asked before a command of the user.</summary>
    public bool AllowsEverything { get; } = Array.Exists(Selectors, selector => selector.AllowsEverything);

    /// <summary>Whether a client that has not said who it is may be the user.</summary>
    public bool LetsAnyoneIn => IsOn && NeedsNoPassword;

    /// <summary>The flags of ACL GETUSER.</summary>
    public IEnumerable<string> Flags
    {
        get
        {
            yield return IsOn ? "on" : "off";
            if (NeedsNoPassword) yield return "nopass";
            if (PayloadText.Length > 0) yield return PayloadText;
        }
    }

    /// <summary>The rules as ACL LIST shows them, which make the same user again.</summary>
    public string Text => string.Join(' ', (string[])
    [
        .. Flags,
        .. PasswordHashes.Select(hash => "#" + Convert.ToHexStringLower(hash)),
        Selectors[0].Text,
        .. Selectors.Skip(1).Select(selector => $"({selector.Text})"),
    ]);

    /// <summary>Compares a password in a time that does not depend on where it differs.</summary>
    public bool IsPassword(ReadOnlySpan<byte> password)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(password, hash);
        bool isOne = false;
        foreach (byte[] each in PasswordHashes) isOne |= CryptographicOperations.FixedTimeEquals(each, hash);
        return isOne;
    }

    /// <summary>Whether the user may make a call.</summary>
    /// <param name="from">Index of the command's name; channels and keys are counted from there.</param>
    public Verdict Check(Command command, in CommandArguments args, int from = 0)
    {
        Debug.Assert(Selectors.Length > 0, "a user has rules of their own");
        if (AllowsEverything) return default;
        var worst = new Verdict(Denial.Command, 0);
        foreach (var selector in Selectors)
        {
            var verdict = selector.Check(command, args, from);
            if (verdict.IsAllowed) return default;
            if (verdict.Denial > worst.Denial || (verdict.Denial == worst.Denial && verdict.Index > worst.Index))
                worst = verdict;
        }

        return worst;
    }

    /// <summary>The one selector that decides about each call of a command by the call's keys alone; null where there
    /// is more to look at.</summary>
    public Selector? DeciderByKeys(Command command)
    {
        var selector = Selectors[0];
        bool isOne = Selectors.Length == 1 && selector.Commands[command.Id]
            && (selector.HasAllChannels || command.Channels.Last == 0);
        return isOne ? selector : null;
    }

    /// <summary>Whether the user may call a command, with some arguments at least.</summary>
    public bool MayCall(Command command) => Array.Exists(Selectors, selector => selector.Commands[command.Id]);

    public bool AllowsChannel(ReadOnlySpan<byte> channel, bool isPattern)
    {
        foreach (var selector in Selectors)
            if (selector.AllowsChannel(channel, isPattern)) return true;
        return false;
    }

    /// <summary>Whether the user may be told that there is a key of this name: they may read it.</summary>
    /// <param name="isCut">Whether this is only the name's beginning.</param>
    public bool MayKnow(ReadOnlySpan<byte> name, bool isCut = false)
    {
        foreach (var selector in Selectors)
            if (isCut ? selector.ReadsAllKeys : selector.AllowsKey(name, KeyRights.Read)) return true;
        return false;
    }

    /// <summary>Whether a call is allowed although it may read any key: the patterns of SORT.</summary>
    public bool ReadsAnyKeyBy(Command command, in CommandArguments args)
    {
        foreach (var selector in Selectors)
            if (selector.ReadsAllKeys && selector.Check(command, args, 0).IsAllowed) return true;
        return false;
    }

    public bool Equals(UserRules? other) => other != null && Text == other.Text;

    public override int GetHashCode() => Text.GetHashCode(StringComparison.Ordinal);
}
