namespace Kv.Server.Configuration;

/// <summary>The channels of a user that no rule has given any.</summary>
public enum ChannelDefault
{
    ResetChannels,
    AllChannels,
}
