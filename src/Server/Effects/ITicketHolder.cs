namespace Kv.Server.Effects;

/// <summary>Remembers the last ticket of what was done for it.</summary>
internal interface ITicketHolder
{
    /// <summary>The last ticket of the feed that its commands have drawn; 0: none. It only grows.</summary>
    long LastTicket { get; set; }
}
